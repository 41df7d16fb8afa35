-- Profit by state and county, ranked within its level, of the states with the best profit.
SELECT sum(ss_net_profit) AS profit, s_state, s_county, grouping(s_state) + grouping(s_county) AS level,
       rank() OVER (PARTITION BY grouping(s_state) + grouping(s_county), CASE WHEN grouping(s_county) = 0 THEN s_state END ORDER BY sum(ss_net_profit) DESC) AS place
FROM store_sales, date_dim, store
WHERE d_month_seq BETWEEN 1200 AND 1211 AND d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk
  AND s_state IN (SELECT state FROM (SELECT s_state AS state, rank() OVER (PARTITION BY s_state ORDER BY sum(ss_net_profit) DESC) AS ranking
                                     FROM store_sales, store, date_dim
                                     WHERE d_month_seq BETWEEN 1200 AND 1211 AND d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk
                                     GROUP BY s_state) AS best
                  WHERE ranking <= 5)
GROUP BY ROLLUP (s_state, s_county)
ORDER BY level DESC, s_state, place
