-- store_sales, customer_demographics, date_dim, item, promotion
SELECT * FROM store_sales, customer_demographics, date_dim, item, promotion
WHERE cd_demo_sk = ss_cdemo_sk AND d_date_sk = ss_sold_date_sk AND i_item_sk = ss_item_sk AND p_promo_sk = ss_promo_sk
  AND cd_gender = 'M' AND cd_marital_status = 'S' AND d_year = 2000 AND i_item_id = {i_item_id}
