-- store_sales, date_dim, item
SELECT * FROM store_sales, date_dim, item
WHERE d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND d_moy = 11 AND i_manufact_id BETWEEN 100 AND 180
  AND d_year = {d_year} AND i_brand_id = {i_brand_id} AND i_brand = {i_brand}
