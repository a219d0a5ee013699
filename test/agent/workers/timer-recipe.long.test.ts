/** The recipe for a time of the day in docs/how-to/workers.md: the script that a timer starts, as it is printed there. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { connect } from '../../../src/agent/index.ts'
import { cleanEnv, runCommand } from '../../support/command-line.ts'
import { findProgram } from '../../support/find-program.ts'
import { startServer } from '../../support/server-process.ts'
import { ROOT } from '../../support/source-root.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { within } from '../../support/within.ts'

const test = suite('workers: runs at a time of the day')

const PAGE = readFileSync(join(ROOT, 'docs/how-to/workers.md'), 'utf8')
const [, SCRIPT = ''] = /start-daily-report`\n\n```sh\n([\s\S]*?)```/.exec(PAGE) ?? []

if (findProgram(['curl']) === undefined) console.log('skipped: no curl on PATH')
else
  test('a timer that fires twice starts one run, which a worker carries; a day that was missed is another (RUN-220)', async () => {
    assert.match(SCRIPT, /^#!\/bin\/sh\n/)
    await using server = await startServer()
    using folder = tempFolder()
    const file = folder.file('start-daily-report')
    writeFileSync(file, SCRIPT)
    chmodSync(file, 0o755)
    const token = await server.token({ scopes: ['runs:write', 'runs:read', 'payloads:read'] })
    const tokenFile = folder.file('worker.token')
    writeFileSync(tokenFile, `${token}\n`)
    const env = cleanEnv({ COUNTERSIGN_URL: server.url, LEDGER_TOKEN_FILE: tokenFile })
    const start = async (...days: readonly string[]): Promise<void> => {
      const { code, stdout, stderr } = await runCommand(['/bin/sh', file, ...days], { env })
      assert.is(code, 0, stdout + stderr)
    }
    const before = new Date().toISOString().slice(0, 10)
    await start()
    const after = new Date().toISOString().slice(0, 10)
    await start(before)
    await start(after)
    await start('2026-11-20')
    await start('2026-11-20')

    await using cs = connect({ url: server.url, token: () => readFileSync(tokenFile, 'utf8').trim() })
    await using _ = cs.worker({ runs: { report: async (run) => (run.input as { readonly day: string }).day } })
    const days = [...new Set([before, after, '2026-11-20'])].sort()
    const ids: string[] = []
    for await (const { runId } of cs.runs({ name: 'report' })) ids.push(runId)
    assert.equal(
      ids.sort(),
      days.map((day) => `report-${day}`),
    )
    for (const day of days) assert.is(await within(cs.result(`report-${day}`), day), day)
  })

test.run()
