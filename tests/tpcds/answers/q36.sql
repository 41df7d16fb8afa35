-- store_sales, date_dim, item, store
SELECT * FROM store_sales, date_dim, item, store
WHERE d_year = 2001 AND d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND s_store_sk = ss_store_sk
