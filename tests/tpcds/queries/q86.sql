-- Web sales by category and class, ranked within each level.
SELECT sum(ws_net_paid) AS total, i_category, i_class, grouping(i_category) + grouping(i_class) AS level,
       rank() OVER (PARTITION BY grouping(i_category) + grouping(i_class), CASE WHEN grouping(i_class) = 0 THEN i_category END ORDER BY sum(ws_net_paid) DESC) AS place
FROM web_sales, date_dim AS d1, item
WHERE d1.d_month_seq BETWEEN 1200 AND 1211 AND d1.d_date_sk = ws_sold_date_sk AND i_item_sk = ws_item_sk
GROUP BY ROLLUP (i_category, i_class)
ORDER BY level DESC, i_category, place, i_class
