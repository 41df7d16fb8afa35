-- The share of each item in what its class sold in the store.
SELECT i_item_id, i_class, i_current_price, sum(ss_ext_sales_price) AS revenue, sum(ss_ext_sales_price) * 100 / sum(sum(ss_ext_sales_price)) OVER (PARTITION BY i_class) AS share
FROM store_sales JOIN item ON ss_item_sk = i_item_sk JOIN date_dim ON ss_sold_date_sk = d_date_sk
WHERE i_category IN ('Sports', 'Books', 'Home') AND d_date BETWEEN DATE '1999-02-22' AND DATE '1999-03-24'
GROUP BY i_item_id, i_class, i_current_price
ORDER BY i_class, i_item_id, share, i_current_price
