-- customer, customer_address, customer_demographics, store_sales, date_dim
SELECT * FROM customer, customer_address, customer_demographics, store_sales, date_dim
WHERE c_current_addr_sk = ca_address_sk AND cd_demo_sk = c_current_cdemo_sk AND ca_state IN ('TX', 'GA', 'KS', 'VA', 'MO', 'KY', 'NC', 'IA')
  AND cd_gender = {cd_gender} AND cd_marital_status = {cd_marital_status}
  AND c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy BETWEEN 4 AND 9
  AND (SELECT count(*) FROM web_sales, date_dim WHERE c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy = 4) = 0
  AND (SELECT count(*) FROM catalog_sales, date_dim WHERE c_customer_sk = cs_ship_customer_sk AND cs_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy = 5) = 0
-- controls: catalog_sales, date_dim, web_sales
