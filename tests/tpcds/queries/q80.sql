-- Sales less returns by place, with totals.
WITH shop AS (
    SELECT s_store_id AS id, sum(ss_ext_sales_price) AS sales, sum(coalesce(sr_return_amt, 0)) AS returned, sum(ss_net_profit - coalesce(sr_net_loss, 0)) AS profit
    FROM store_sales LEFT OUTER JOIN store_returns ON ss_item_sk = sr_item_sk AND ss_ticket_number = sr_ticket_number, date_dim, store, item, promotion
    WHERE ss_sold_date_sk = d_date_sk AND d_date BETWEEN DATE '2000-08-01' AND DATE '2000-11-30' AND ss_store_sk = s_store_sk AND ss_item_sk = i_item_sk
      AND i_current_price > 5 AND ss_promo_sk = p_promo_sk AND p_channel_tv = 'N'
    GROUP BY s_store_id
), page AS (
    SELECT cp_catalog_page_id AS id, sum(cs_ext_sales_price) AS sales, sum(coalesce(cr_return_amount, 0)) AS returned, sum(cs_net_profit - coalesce(cr_net_loss, 0)) AS profit
    FROM catalog_sales LEFT OUTER JOIN catalog_returns ON cs_item_sk = cr_item_sk AND cs_order_number = cr_order_number, date_dim, catalog_page, item, promotion
    WHERE cs_sold_date_sk = d_date_sk AND d_date BETWEEN DATE '2000-08-23' AND DATE '2000-09-02' AND cs_catalog_page_sk = cp_catalog_page_sk AND cs_item_sk = i_item_sk
      AND i_current_price > 5 AND cs_promo_sk = p_promo_sk AND p_channel_tv = 'N'
    GROUP BY cp_catalog_page_id
)
SELECT channel, id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT 'store' AS channel, 'store' || id AS id, sales, returned, profit FROM shop UNION ALL SELECT 'catalog', 'page' || id, sales, returned, profit FROM page) AS x
GROUP BY ROLLUP (channel, id)
ORDER BY channel, id
