-- Items returned in all three channels, and the share of each.
WITH days AS (SELECT d_date AS day FROM date_dim WHERE d_quarter_seq IN (SELECT d_quarter_seq FROM date_dim WHERE d_date IN (DATE '2000-06-30', DATE '2000-09-27', DATE '2000-11-17', DATE '2001-03-02'))),
sr AS (SELECT i_class AS id, sum(sr_return_quantity) AS number FROM store_returns, item, date_dim
       WHERE sr_item_sk = i_item_sk AND sr_returned_date_sk = d_date_sk AND d_date IN (SELECT day FROM days) GROUP BY i_class),
cr AS (SELECT i_class AS id, sum(cr_return_quantity) AS number FROM catalog_returns, item, date_dim
       WHERE cr_item_sk = i_item_sk AND cr_returned_date_sk = d_date_sk AND d_date IN (SELECT day FROM days) GROUP BY i_class),
wr AS (SELECT i_class AS id, sum(wr_return_quantity) AS number FROM web_returns, item, date_dim
       WHERE wr_item_sk = i_item_sk AND wr_returned_date_sk = d_date_sk AND d_date IN (SELECT day FROM days) GROUP BY i_class)
SELECT sr.id, sr.number AS shop, sr.number / (sr.number + cr.number + wr.number) / 3.0 * 100 AS shop_share, cr.number AS catalog, wr.number AS web,
       (sr.number + cr.number + wr.number) / 3.0 AS mean
FROM sr, cr, wr WHERE sr.id = cr.id AND sr.id = wr.id
ORDER BY sr.id, shop
