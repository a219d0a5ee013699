import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ALERT_CASES, type AlertCase } from './support/alert-cases.ts'
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
    severity: /severity: (\w+)/.exec(text)?.[1],
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

test('errors and writes without room of each route are counted from zero: the first one is an increase', async () => {
  await using edge = await testEdge()
  const text = await (await edge.get('/metrics')).text()
  for (const status of [500, 507]) {
    assert.ok(text.includes(`countersign_http_requests_total{method="post",route="/v1/runs",status="${status}"} 0\n`))
  }
})

/** Where promtool is installed. */
function promtool(...args: string[]): void {
  const { error, status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
  if (error === undefined) assert.is(status, 0, stdout + stderr)
  else assert.is((error as NodeJS.ErrnoException).code, 'ENOENT')
}

/** One of promtool's tests. */
function testOf({ alert, title, series, at, labels }: AlertCase) {
  const instance = 'ledger:7070'
  const severity = alerts.find(({ name }) => name === alert)?.severity
  return {
    name: `${alert}: ${title}`,
    interval: '15s',
    input_series: Object.entries(series).map(([name, values]) => ({
      series: name.endsWith('}') ? name.replace(/\}$/, `, instance="${instance}"}`) : `${name}{instance="${instance}"}`,
      values,
    })),
    alert_rule_test: [
      {
        eval_time: at,
        alertname: alert,
        exp_alerts: labels === undefined ? [] : [{ exp_labels: { severity, instance, ...labels } }],
      },
    ],
  }
}

test('promtool, where it is installed, finds nothing wrong with the alert rules', () => {
  promtool('check', 'rules', RULES_FILE)
})

test('every alert fires on what it is for, the first time too, and not on what is well', () => {
  const fired = new Set(ALERT_CASES.flatMap(({ alert, labels }) => (labels === undefined ? [] : [alert])))
  for (const { name } of alerts) assert.ok(fired.has(name), `${name} has no case`)

  const folder = mkdtempSync(join(tmpdir(), 'countersign-alerts-'))
  try {
    // promtool compares annotations word by word; what they say is for people.
    writeFileSync(join(folder, 'rules.yml'), RULES.replaceAll(/^ {8}annotations:\n(?: {10}.*\n)+/gm, ''))
    const tests = { rule_files: ['rules.yml'], evaluation_interval: '15s', tests: ALERT_CASES.map(testOf) }
    writeFileSync(join(folder, 'tests.yml'), JSON.stringify(tests))
    promtool('test', 'rules', join(folder, 'tests.yml'))
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test.run()
