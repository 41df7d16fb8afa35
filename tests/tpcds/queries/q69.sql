-- Who buys in the store only.
SELECT cd_gender, cd_marital_status, count(*) AS people, max(cd_purchase_estimate) AS estimate
FROM customer AS c JOIN customer_address ON c.c_current_addr_sk = ca_address_sk JOIN customer_demographics ON cd_demo_sk = c.c_current_cdemo_sk
WHERE ca_state IN ('TX', 'GA', 'KS', 'VA', 'MO', 'KY', 'NC', 'IA')
  AND EXISTS (SELECT * FROM store_sales, date_dim WHERE c.c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy BETWEEN 4 AND 9)
  AND NOT EXISTS (SELECT * FROM web_sales, date_dim WHERE c.c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy = 4)
  AND NOT EXISTS (SELECT * FROM catalog_sales, date_dim WHERE c.c_customer_sk = cs_ship_customer_sk AND cs_sold_date_sk = d_date_sk AND d_year = 2001 AND d_moy = 5)
GROUP BY cd_gender, cd_marital_status
ORDER BY cd_gender, cd_marital_status
