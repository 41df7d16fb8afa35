-- date_dim, store_sales, item
SELECT * FROM date_dim, store_sales, item
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id IN (1, 2, 3, 5, 31) AND d_moy = 11 AND d_year = {d_year}
  AND i_brand_id = {brand_id} AND i_brand = {brand}
