-- catalog_sales, customer_demographics, date_dim, item, promotion
SELECT * FROM catalog_sales, customer_demographics, date_dim, item, promotion
WHERE cs_sold_date_sk = d_date_sk AND cs_item_sk = i_item_sk AND cs_bill_cdemo_sk = cd_demo_sk AND cs_promo_sk = p_promo_sk
  AND cd_gender = 'M' AND cd_education_status IN ('College', 'Primary') AND d_year = 2000 AND i_item_id = {i_item_id}
