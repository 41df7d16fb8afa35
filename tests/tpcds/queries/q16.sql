-- Catalog orders from several places at once, never returned, shipped within two months.
SELECT count(DISTINCT a.cs_order_number) AS orders, sum(a.cs_ext_ship_cost) AS shipping, sum(a.cs_net_profit) AS profit
FROM catalog_sales AS a
JOIN date_dim ON a.cs_ship_date_sk = d_date_sk
JOIN customer_address ON a.cs_ship_addr_sk = ca_address_sk
JOIN call_center ON a.cs_call_center_sk = cc_call_center_sk
WHERE d_date BETWEEN DATE '2002-02-01' AND DATE '2002-07-01' AND cc_county = 'Williamson County'
  AND EXISTS (SELECT * FROM catalog_sales AS b WHERE b.cs_order_number = a.cs_order_number AND b.cs_ship_mode_sk <> a.cs_ship_mode_sk)
  AND NOT EXISTS (SELECT * FROM catalog_returns AS r WHERE r.cr_order_number = a.cs_order_number)
