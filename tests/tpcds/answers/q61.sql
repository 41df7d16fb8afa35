-- store_sales, store, date_dim, customer, customer_address, item
SELECT * FROM store_sales, store, date_dim, customer, customer_address, item
WHERE ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND ss_customer_sk = c_customer_sk AND ca_address_sk = c_current_addr_sk
  AND ss_item_sk = i_item_sk AND i_category = 'Jewelry' AND d_year = 1998 AND d_moy = 11
-- promotion
SELECT * FROM promotion
