-- date_dim, store_sales, item, customer, customer_address, store
SELECT * FROM date_dim, store_sales, item, customer, customer_address, store
WHERE d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND d_moy = 11 AND d_year = 1998 AND i_manager_id < 20
  AND ss_customer_sk = c_customer_sk AND c_current_addr_sk = ca_address_sk AND ss_store_sk = s_store_sk AND ca_zip <> s_zip
  AND i_brand_id = {i_brand_id} AND i_brand = {i_brand} AND i_manufact_id = {i_manufact_id}
