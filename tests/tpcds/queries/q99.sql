-- How many days catalog orders waited for shipping.
SELECT substr(w_warehouse_name, 1, 20) AS house, sm_type, cc_name,
       sum(CASE WHEN cs_ship_date_sk - cs_sold_date_sk <= 30 THEN 1 ELSE 0 END) AS within_30,
       sum(CASE WHEN cs_ship_date_sk - cs_sold_date_sk > 30 AND cs_ship_date_sk - cs_sold_date_sk <= 60 THEN 1 ELSE 0 END) AS within_60,
       sum(CASE WHEN cs_ship_date_sk - cs_sold_date_sk > 60 THEN 1 ELSE 0 END) AS later
FROM catalog_sales, warehouse, ship_mode, call_center, date_dim
WHERE d_month_seq BETWEEN 1200 AND 1202 AND cs_ship_date_sk = d_date_sk AND cs_warehouse_sk = w_warehouse_sk AND cs_ship_mode_sk = sm_ship_mode_sk
  AND cs_call_center_sk = cc_call_center_sk
GROUP BY substr(w_warehouse_name, 1, 20), sm_type, cc_name
ORDER BY house, sm_type, cc_name
