-- catalog_sales, date_dim, customer_address, call_center
SELECT a.*, d.*, ca.*, cc.* FROM catalog_sales AS a, date_dim AS d, customer_address AS ca, call_center AS cc
WHERE a.cs_ship_date_sk = d_date_sk AND a.cs_ship_addr_sk = ca_address_sk AND a.cs_call_center_sk = cc_call_center_sk
  AND d_date BETWEEN DATE '2002-02-01' AND DATE '2002-07-01' AND cc_county = 'Williamson County'
  AND a.cs_order_number NOT IN (SELECT cr_order_number FROM catalog_returns)
  AND (SELECT count(DISTINCT b.cs_ship_mode_sk) FROM catalog_sales AS b WHERE b.cs_order_number = a.cs_order_number AND b.cs_ship_mode_sk <> a.cs_ship_mode_sk) > 0
-- catalog_sales
SELECT b.* FROM catalog_sales AS b, catalog_sales AS a, date_dim, customer_address, call_center
WHERE b.cs_order_number = a.cs_order_number AND b.cs_ship_mode_sk <> a.cs_ship_mode_sk
  AND a.cs_ship_date_sk = d_date_sk AND a.cs_ship_addr_sk = ca_address_sk AND a.cs_call_center_sk = cc_call_center_sk
  AND d_date BETWEEN DATE '2002-02-01' AND DATE '2002-07-01' AND cc_county = 'Williamson County'
  AND a.cs_order_number NOT IN (SELECT cr_order_number FROM catalog_returns)
-- controls: catalog_returns
