-- date_dim, store_sales, item
SELECT * FROM date_dim, store_sales, item
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id < 30 AND d_moy = 12 AND d_year = {d_year} AND i_category_id = {i_category_id}
