SELECT name FROM bricks WHERE id IN (SELECT brick FROM kernels)
SELECT name FROM bricks WHERE EXISTS (SELECT 1 FROM kernels WHERE kernels.brick = bricks.id)
WITH k AS (SELECT brick FROM kernels) SELECT COUNT(*) AS n FROM k
SELECT k.name FROM kernels AS k JOIN bricks AS b ON k.brick = b.id
SELECT name, COUNT(*) FILTER (WHERE dur_ns > 1000) AS n FROM bricks GROUP BY name HAVING n > 2
SELECT DISTINCT ON (name) name, dur_ns FROM bricks ORDER BY name, dur_ns
SELECT QUANTILE_CONT(dur_ns, 0.99) AS q, MEDIAN(dur_ns) AS m, STDDEV(dur_ns) AS s FROM bricks
SELECT LAG(start_ns) OVER (PARTITION BY thread ORDER BY start_ns) AS l FROM bricks
SELECT SUM(dur_ns) OVER (PARTITION BY name ORDER BY start_ns) AS s FROM bricks
SELECT CASE WHEN dur_ns > 1000 THEN 'long' ELSE 'short' END AS c, name || '!' AS n FROM bricks
SELECT name FROM bricks UNION ALL SELECT name FROM kernels
SELECT COUNT(*) AS n FROM (SELECT dur_ns, AVG(dur_ns) OVER () AS mean FROM bricks) AS t WHERE dur_ns > mean
EXPLAIN SELECT name FROM bricks
SHOW TABLES
