-- Catalog discounts that were far above the item's usual one.
SELECT sum(cs_ext_discount_amt) AS excess
FROM catalog_sales JOIN item ON i_item_sk = cs_item_sk JOIN date_dim ON d_date_sk = cs_sold_date_sk
WHERE i_manufact_id < 200 AND d_date BETWEEN DATE '2000-01-27' AND DATE '2000-06-27'
  AND cs_ext_discount_amt > (
      SELECT 1.3 * avg(x.cs_ext_discount_amt) FROM catalog_sales AS x JOIN date_dim AS y ON y.d_date_sk = x.cs_sold_date_sk
      WHERE x.cs_item_sk = i_item_sk AND y.d_date BETWEEN DATE '2000-01-27' AND DATE '2000-06-27')
