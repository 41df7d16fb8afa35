-- Customers who bought in all three channels on the same day.
SELECT count(*) AS customers
FROM (
    SELECT DISTINCT c_last_name, c_first_name, d_moy FROM store_sales, date_dim, customer
    WHERE ss_sold_date_sk = d_date_sk AND ss_customer_sk = c_customer_sk AND d_year = 2000
    INTERSECT
    SELECT DISTINCT c_last_name, c_first_name, d_moy FROM catalog_sales, date_dim, customer
    WHERE cs_sold_date_sk = d_date_sk AND cs_bill_customer_sk = c_customer_sk AND d_year = 2000
    INTERSECT
    SELECT DISTINCT c_last_name, c_first_name, d_moy FROM web_sales, date_dim, customer
    WHERE ws_sold_date_sk = d_date_sk AND ws_bill_customer_sk = c_customer_sk AND d_year = 2000
) AS faithful
