-- Months in which a call centre sold far more or less of a category than usual.
WITH monthly AS (
    SELECT i_category AS category, cc_name AS centre, d_year AS year, d_moy AS month, sum(cs_sales_price) AS sales,
           avg(sum(cs_sales_price)) OVER (PARTITION BY i_category, cc_name, d_year) AS mean,
           rank() OVER (PARTITION BY i_category, cc_name ORDER BY d_year, d_moy) AS place
    FROM item, catalog_sales, date_dim, call_center
    WHERE cs_item_sk = i_item_sk AND cs_sold_date_sk = d_date_sk AND cc_call_center_sk = cs_call_center_sk AND d_year IN (1999, 2000)
    GROUP BY i_category, cc_name, d_year, d_moy
)
SELECT v1.category, v1.centre, v1.year, v1.month, v1.sales, v1.mean, lag.sales AS previous, lead.sales AS following
FROM monthly AS v1, monthly AS lag, monthly AS lead
WHERE v1.category = lag.category AND v1.category = lead.category AND v1.centre = lag.centre AND v1.centre = lead.centre
  AND v1.place = lag.place + 1 AND v1.place = lead.place - 1 AND v1.year = 1999 AND abs(v1.sales - v1.mean) / v1.mean > 0.3
ORDER BY v1.sales - v1.mean, v1.category, v1.centre, v1.month
LIMIT 15
