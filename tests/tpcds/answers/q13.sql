-- store_sales, store, customer_demographics, household_demographics, customer_address, date_dim
SELECT * FROM store_sales, store, customer_demographics, household_demographics, customer_address, date_dim
WHERE s_store_sk = ss_store_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001 AND ss_hdemo_sk = hd_demo_sk AND cd_demo_sk = ss_cdemo_sk
  AND ss_addr_sk = ca_address_sk
  AND (cd_marital_status = 'M' AND ss_sales_price >= 50 AND ss_sales_price <= 150 AND hd_dep_count >= 3
       OR cd_marital_status = 'S' AND ss_sales_price >= 20 AND ss_sales_price <= 100 AND hd_dep_count = 1)
  AND (ca_state IN ('TX', 'OH', 'GA') AND ss_net_profit >= -1000 AND ss_net_profit <= 200
       OR ca_state IN ('VA', 'KS', 'MO') AND ss_net_profit >= -500 AND ss_net_profit <= 3000)
