-- catalog_sales, customer, customer_address, date_dim
SELECT * FROM catalog_sales, customer, customer_address, date_dim
WHERE cs_bill_customer_sk = c_customer_sk AND c_current_addr_sk = ca_address_sk AND cs_sold_date_sk = d_date_sk
  AND (ca_zip LIKE '85%' OR ca_zip LIKE '86%' OR ca_zip LIKE '31%' OR ca_zip LIKE '38%' OR ca_state IN ('CA', 'GA') OR cs_sales_price > 250)
  AND d_qoy = 2 AND d_year = 2001 AND ca_zip <=> {ca_zip}
