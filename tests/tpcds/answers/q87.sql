-- store_sales, date_dim, customer
SELECT * FROM store_sales, date_dim, customer
WHERE ss_sold_date_sk = d_date_sk AND ss_customer_sk = c_customer_sk AND d_month_seq BETWEEN 1200 AND 1202
  AND NOT EXISTS (SELECT * FROM catalog_sales JOIN customer AS c ON cs_bill_customer_sk = c.c_customer_sk
                  WHERE cs_sold_date_sk = d_date_sk AND c.c_last_name <=> customer.c_last_name AND c.c_first_name <=> customer.c_first_name)
  AND NOT EXISTS (SELECT * FROM web_sales JOIN customer AS c ON ws_bill_customer_sk = c.c_customer_sk
                  WHERE ws_sold_date_sk = d_date_sk AND c.c_last_name <=> customer.c_last_name AND c.c_first_name <=> customer.c_first_name)
-- controls: catalog_sales, customer, date_dim, web_sales
