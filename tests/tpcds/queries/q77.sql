-- Sales, returns and profit of a month, by channel and place, with totals.
WITH ss AS (SELECT s_store_sk AS sk, sum(ss_ext_sales_price) AS sales, sum(ss_net_profit) AS profit FROM store_sales, date_dim, store
            WHERE ss_sold_date_sk = d_date_sk AND d_date BETWEEN DATE '2000-08-03' AND DATE '2000-10-02' AND ss_store_sk = s_store_sk GROUP BY s_store_sk),
sr AS (SELECT s_store_sk AS sk, sum(sr_return_amt) AS returned, sum(sr_net_loss) AS loss FROM store_returns, date_dim, store
       WHERE sr_returned_date_sk = d_date_sk AND d_date BETWEEN DATE '2000-08-03' AND DATE '2000-10-02' AND sr_store_sk = s_store_sk GROUP BY s_store_sk),
cs AS (SELECT cs_call_center_sk AS sk, sum(cs_ext_sales_price) AS sales, sum(cs_net_profit) AS profit FROM catalog_sales, date_dim
       WHERE cs_sold_date_sk = d_date_sk AND d_date BETWEEN DATE '2000-08-03' AND DATE '2000-10-02' GROUP BY cs_call_center_sk),
cr AS (SELECT sum(cr_return_amount) AS returned, sum(cr_net_loss) AS loss FROM catalog_returns, date_dim
       WHERE cr_returned_date_sk = d_date_sk AND d_date BETWEEN DATE '2000-08-03' AND DATE '2000-10-02')
SELECT channel, id, sum(sales) AS sales, sum(returned) AS returned, sum(profit) AS profit
FROM (SELECT 'store' AS channel, ss.sk AS id, sales, coalesce(returned, 0) AS returned, profit - coalesce(loss, 0) AS profit FROM ss LEFT JOIN sr ON ss.sk = sr.sk
      UNION ALL
      SELECT 'catalog', cs.sk, sales, returned, profit - loss FROM cs CROSS JOIN cr) AS x
GROUP BY ROLLUP (channel, id)
ORDER BY channel, id, sales
