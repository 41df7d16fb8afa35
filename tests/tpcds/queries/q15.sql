-- Catalog sales of a quarter by postal code: of some areas, or of dear orders.
SELECT ca_zip, sum(cs_sales_price) AS price
FROM catalog_sales
JOIN customer ON cs_bill_customer_sk = c_customer_sk
JOIN customer_address ON c_current_addr_sk = ca_address_sk
JOIN date_dim ON cs_sold_date_sk = d_date_sk
WHERE (substr(ca_zip, 1, 2) IN ('85', '86', '31', '38') OR ca_state IN ('CA', 'GA') OR cs_sales_price > 250) AND d_qoy = 2 AND d_year = 2001
GROUP BY ca_zip
ORDER BY ca_zip
