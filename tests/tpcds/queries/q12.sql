-- The share of each item in what its class sold on the web in a month.
SELECT i_item_id, i_class, sum(ws_ext_sales_price) AS revenue,
       sum(ws_ext_sales_price) * 100 / sum(sum(ws_ext_sales_price)) OVER (PARTITION BY i_class) AS share
FROM web_sales JOIN item ON ws_item_sk = i_item_sk JOIN date_dim ON ws_sold_date_sk = d_date_sk
WHERE i_category IN ('Sports', 'Books', 'Home') AND d_date BETWEEN DATE '1999-02-22' AND DATE '1999-02-22' + INTERVAL 90 DAYS
GROUP BY i_item_id, i_class
ORDER BY i_class, i_item_id, share
