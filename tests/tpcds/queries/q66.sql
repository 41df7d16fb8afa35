-- What a warehouse shipped each month, with what it is per square foot.
SELECT w_warehouse_name, w_warehouse_sq_ft, year, sum(jan) AS jan, sum(feb) AS feb, sum(jan) / w_warehouse_sq_ft AS jan_per_foot
FROM (
    SELECT w_warehouse_name, w_warehouse_sq_ft, d_year AS year, sum(CASE WHEN d_moy = 1 THEN ws_ext_sales_price * ws_quantity ELSE 0 END) AS jan,
           sum(CASE WHEN d_moy = 2 THEN ws_ext_sales_price * ws_quantity ELSE 0 END) AS feb
    FROM web_sales, warehouse, date_dim, time_dim, ship_mode
    WHERE ws_warehouse_sk = w_warehouse_sk AND ws_sold_date_sk = d_date_sk AND ws_sold_time_sk = t_time_sk AND ws_ship_mode_sk = sm_ship_mode_sk
      AND d_year = 2001 AND t_time BETWEEN 10000 AND 60000
    GROUP BY w_warehouse_name, w_warehouse_sq_ft, d_year
    UNION ALL
    SELECT w_warehouse_name, w_warehouse_sq_ft, d_year, sum(CASE WHEN d_moy = 1 THEN cs_sales_price * cs_quantity ELSE 0 END),
           sum(CASE WHEN d_moy = 2 THEN cs_sales_price * cs_quantity ELSE 0 END)
    FROM catalog_sales, warehouse, date_dim, time_dim, ship_mode
    WHERE cs_warehouse_sk = w_warehouse_sk AND cs_sold_date_sk = d_date_sk AND cs_sold_time_sk = t_time_sk AND cs_ship_mode_sk = sm_ship_mode_sk
      AND d_year = 2001 AND t_time BETWEEN 10000 AND 60000
    GROUP BY w_warehouse_name, w_warehouse_sq_ft, d_year
)
GROUP BY w_warehouse_name, w_warehouse_sq_ft, year
ORDER BY w_warehouse_name
