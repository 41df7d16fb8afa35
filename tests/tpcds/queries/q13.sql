-- Averages over sales to people, households and addresses that fit one of several descriptions.
SELECT avg(ss_quantity) AS quantity, avg(ss_ext_sales_price) AS price, avg(ss_ext_wholesale_cost) AS cost, sum(ss_ext_wholesale_cost) AS costs
FROM store_sales, store, customer_demographics, household_demographics, customer_address, date_dim
WHERE s_store_sk = ss_store_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2001
  AND ss_hdemo_sk = hd_demo_sk AND cd_demo_sk = ss_cdemo_sk AND ss_addr_sk = ca_address_sk
  AND ((cd_marital_status = 'M' AND ss_sales_price BETWEEN 50 AND 150 AND hd_dep_count > 2)
       OR (cd_marital_status = 'S' AND ss_sales_price BETWEEN 20 AND 100 AND hd_dep_count = 1))
  AND ((ca_state IN ('TX', 'OH', 'GA') AND ss_net_profit BETWEEN -1000 AND 200)
       OR (ca_state IN ('VA', 'KS', 'MO') AND ss_net_profit BETWEEN -500 AND 3000))
