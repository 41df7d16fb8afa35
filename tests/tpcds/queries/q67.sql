-- The best places of each category over all levels of a long hierarchy.
SELECT *
FROM (
    SELECT i_category, i_class, d_year, d_qoy, s_store_id, sales, rank() OVER (PARTITION BY i_category ORDER BY sales DESC) AS place
    FROM (SELECT i_category, i_class, d_year, d_qoy, s_store_id, sum(coalesce(ss_sales_price * ss_quantity, 0)) AS sales
          FROM store_sales, date_dim, store, item
          WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND ss_store_sk = s_store_sk AND d_month_seq BETWEEN 1200 AND 1205
          GROUP BY ROLLUP (i_category, i_class, d_year, d_qoy, s_store_id))
)
WHERE place <= 3
ORDER BY i_category, i_class, d_year, d_qoy, s_store_id, sales, place
