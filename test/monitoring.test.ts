import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ROOT } from './support/source-root.ts'
import { testEdge } from './support/test-edge.ts'

const test = suite('the files for monitoring')

const RULES_FILE = join(ROOT, 'deploy/prometheus/countersign-alerts.yml')
const RULES = readFileSync(RULES_FILE, 'utf8')
const OPERATIONS = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8')

/** Of each rule: its name, what it looks at, and where its runbook is. */
const alerts = RULES.split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({
    name: text.slice(0, text.indexOf('\n')),
    metrics: [...text.matchAll(/\bcountersign_\w+/g)].map(([name]) => name),
    runbook: /runbook: docs\/operations\.md#(\S+)/.exec(text)?.[1],
  }))

/** Names as a scraper sees them, with those that a histogram makes. */
async function servedMetrics(): Promise<ReadonlySet<string>> {
  await using edge = await testEdge()
  await edge.started('one')
  const text = await (await edge.get('/metrics')).text()
  return new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
}

test('every alert looks at metrics that the ledger serves, and has a runbook', async () => {
  const served = await servedMetrics()
  assert.ok(alerts.length >= 10)
  for (const { name, metrics, runbook } of alerts) {
    for (const metric of metrics) assert.ok(served.has(metric.replace(/_bucket$/, '')), `${name}: ${metric}`)
    assert.is(runbook, name.toLowerCase())
    assert.match(OPERATIONS, new RegExp(`^### ${name}$`, 'm'))
  }
  const runbooks = [...OPERATIONS.matchAll(/^### (Countersign\w+)$/gm)].map(([, name]) => name)
  assert.equal(
    runbooks,
    alerts.map(({ name }) => name),
  )
})

test('docs/operations.md names every metric, and none that is not served', async () => {
  const named = new Set([...OPERATIONS.matchAll(/`(countersign_\w+)(?:\{[\w,]+\})?`/g)].map(([, name = '']) => name))
  assert.equal([...named].sort(), [...(await servedMetrics())].sort())
})

test('promtool, where it is installed, finds nothing wrong with the alert rules', () => {
  const { error, status, stdout } = spawnSync('promtool', ['check', 'rules', RULES_FILE], { encoding: 'utf8' })
  if (error !== undefined) {
    assert.is((error as NodeJS.ErrnoException).code, 'ENOENT')
    return
  }
  assert.is(status, 0, stdout)
})

test.run()
