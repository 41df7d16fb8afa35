-- Averages of catalog sales by item, country, state and county, with all totals.
SELECT i_category, ca_country, ca_state, avg(CAST(cs_quantity AS decimal(12, 2))) AS quantity, avg(cs_list_price) AS price,
       avg(CAST(c_birth_year AS decimal(12, 2))) AS born
FROM catalog_sales
JOIN customer_demographics ON cs_bill_cdemo_sk = cd_demo_sk
JOIN customer ON cs_bill_customer_sk = c_customer_sk
JOIN customer_address ON c_current_addr_sk = ca_address_sk
JOIN date_dim ON cs_sold_date_sk = d_date_sk
JOIN item ON cs_item_sk = i_item_sk
WHERE cd_gender = 'F' AND c_birth_month IN (1, 2, 6, 8, 9, 12) AND d_year = 1998 AND ca_state IN ('TX', 'GA', 'KS', 'VA', 'MO', 'KY', 'NC')
GROUP BY ROLLUP (ca_country, ca_state, i_category)
ORDER BY ca_country, ca_state, i_category
