/** @module The tutorials, run block by block as they are written, by somebody who has only what they name. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startServer } from './support/server-process.ts'
import { ROOT } from './support/source-root.ts'
import { eventually } from './support/within.ts'

const tutorials = suite('tutorials')
const run = promisify(execFile)
const { PATH } = process.env

const PROGRAM = join(dirname(dirname(fileURLToPath(import.meta.url))), 'programs/countersign.js')
/** What `npx countersign` finds in a project that has the package. */
const NPX = `npx() { shift; "${process.execPath}" "${PROGRAM}" "$@"; }\n`

tutorials('the first audit needs a URL and a token, and ends with two verified bundles', async () => {
  await using server = await startServer()
  const folder = mkdtempSync(join(tmpdir(), 'countersign-tutorial-'))
  try {
    const operator = { ...process.env, URL: server.url, COUNTERSIGN_DATA: server.data }
    await run('bash', ['-c', NPX + readFileSync(join(ROOT, 'examples/run-through.sh'), 'utf8')], {
      cwd: folder,
      env: operator,
    })
    const token = await run(
      process.execPath,
      [PROGRAM, 'token', '--scope', 'audit:read audit:export', '--sub', 'you@example.com'],
      { env: operator },
    )
    // The auditor comes to a ledger that has signed a checkpoint, which it does in the first lull.
    const headers = { authorization: `Bearer ${token.stdout.trim()}` }
    const signed = async () => (await fetch(`${server.url}/v1/log/checkpoint`, { headers })).ok || undefined
    await eventually(signed, 'the first checkpoint')
    const { stdout } = await run('bash', ['-c', NPX + blocksOf('docs/tutorials/first-audit.md')], {
      cwd: folder,
      env: {
        PATH,
        URL: server.url,
        COUNTERSIGN_TOKEN: token.stdout.trim(),
        XDG_CONFIG_HOME: join(folder, 'config'),
      },
    })
    assert.match(stdout, /"run":"hello".*"missingCount":0/)
    assert.match(stdout, /critical-key-removed/)
    assert.is(stdout.match(/^VERIFIED {2}/gm)?.length, 2, 'the run and the answer verify without the ledger')
    assert.match(stdout, /^kept checkpoint: of \d+ events$/m)
    assert.match(stdout, /"proof":\[/)
    assert.match(stdout, /"actor":"you@example\.com","query":"audit\/runs"/)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

tutorials.run()

/** The blocks that are plain `sh`; a block of another kind, such as `sh setup`, is for the reader to fill in. */
function blocksOf(page: string): string {
  const blocks = [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```sh\n([\s\S]*?)^```$/gm)]
  return blocks.map(([, block = '']) => block).join('\n')
}
