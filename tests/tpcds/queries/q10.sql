-- Customers of some counties who bought in the store, and on the web or by catalog, counted by who they are.
SELECT cd_gender, cd_marital_status, cd_education_status, count(*) AS people, min(cd_dep_count) AS least, max(cd_dep_count) AS most
FROM customer AS c
JOIN customer_address AS a ON a.ca_address_sk = c.c_current_addr_sk
JOIN customer_demographics ON cd_demo_sk = c.c_current_cdemo_sk
WHERE a.ca_state IN ('TX', 'GA', 'KS', 'VA')
  AND EXISTS (SELECT * FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk
              WHERE c.c_customer_sk = ss_customer_sk AND d_year = 2002 AND d_moy BETWEEN 1 AND 8)
  AND (EXISTS (SELECT * FROM web_sales JOIN date_dim ON ws_sold_date_sk = d_date_sk
               WHERE c.c_customer_sk = ws_bill_customer_sk AND d_year = 2002 AND d_moy BETWEEN 1 AND 8)
       OR EXISTS (SELECT * FROM catalog_sales JOIN date_dim ON cs_sold_date_sk = d_date_sk
                  WHERE c.c_customer_sk = cs_ship_customer_sk AND d_year = 2002 AND d_moy BETWEEN 1 AND 8))
GROUP BY cd_gender, cd_marital_status, cd_education_status
ORDER BY cd_gender, cd_marital_status, cd_education_status
