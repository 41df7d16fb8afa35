-- Quarters in which a maker's sales were far from its mean.
SELECT *
FROM (
    SELECT i_manufact_id, d_qoy, sum(ss_sales_price) AS sales, avg(sum(ss_sales_price)) OVER (PARTITION BY i_manufact_id) AS mean
    FROM item, store_sales, date_dim, store
    WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND d_month_seq BETWEEN 1200 AND 1211
      AND ((i_category IN ('Books', 'Children', 'Electronics') AND i_class IN ('personal', 'portable', 'reference', 'self-help', 'toddlers'))
           OR (i_category IN ('Women', 'Music', 'Men') AND i_class IN ('accessories', 'classical', 'fragrances', 'pants', 'rock')))
    GROUP BY i_manufact_id, d_qoy
)
WHERE CASE WHEN mean > 0 THEN abs(sales - mean) / mean END > 0.5
ORDER BY mean, sales, i_manufact_id, d_qoy
