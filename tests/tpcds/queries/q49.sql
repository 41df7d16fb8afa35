-- The worst ratios of returns in two channels.
SELECT channel, item, return_ratio, return_rank
FROM (
    SELECT 'web' AS channel, item, return_ratio, rank() OVER (ORDER BY return_ratio, item) AS return_rank
    FROM (SELECT ws_item_sk AS item, CAST(sum(coalesce(wr_return_quantity, 0)) AS decimal(15, 4)) / CAST(sum(coalesce(ws_quantity, 0)) AS decimal(15, 4)) AS return_ratio
          FROM web_sales LEFT OUTER JOIN web_returns ON ws_order_number = wr_order_number AND ws_item_sk = wr_item_sk, date_dim
          WHERE wr_return_amt > 50 AND ws_net_profit > -5000 AND ws_quantity > 0 AND ws_sold_date_sk = d_date_sk AND d_year = 2001
          GROUP BY ws_item_sk) AS in_web
    UNION
    SELECT 'catalog', item, return_ratio, rank() OVER (ORDER BY return_ratio, item)
    FROM (SELECT cs_item_sk AS item, CAST(sum(coalesce(cr_return_quantity, 0)) AS decimal(15, 4)) / CAST(sum(coalesce(cs_quantity, 0)) AS decimal(15, 4)) AS return_ratio
          FROM catalog_sales LEFT OUTER JOIN catalog_returns ON cs_order_number = cr_order_number AND cs_item_sk = cr_item_sk, date_dim
          WHERE cr_return_amount > 50 AND cs_net_profit > -5000 AND cs_quantity > 0 AND cs_sold_date_sk = d_date_sk AND d_year = 2001
          GROUP BY cs_item_sk) AS in_catalog
) AS both
WHERE return_rank <= 6
ORDER BY channel, return_rank, item
