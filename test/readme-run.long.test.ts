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

const readme = suite('README: what it shows')
const run = promisify(execFile)

const BUILT = dirname(dirname(fileURLToPath(import.meta.url)))

readme('the run-through with curl does what the README says', async () => {
  await using server = await startServer()
  const folder = mkdtempSync(join(tmpdir(), 'countersign-readme-'))
  try {
    // What `npx countersign` finds in a clone: the built command, on the server's data folder.
    const npx = `npx() { shift; "${process.execPath}" "${join(BUILT, 'programs/countersign.js')}" "$@"; }\n`
    const script = npx + readFileSync(join(ROOT, 'examples/run-through.sh'), 'utf8')
    const env = { ...process.env, URL: server.url, COUNTERSIGN_DATA: server.data }
    const { stdout } = await run('bash', ['-c', script], { cwd: folder, env })
    assert.match(stdout, /"status":"open"/)
    assert.match(stdout, /"code":"contradiction"/)
    assert.match(stdout, /"critical-key-removed"/)
    assert.match(stdout, /"status":"succeeded".*"result":\{"payment":"p-1"\}/)
    assert.match(stdout, /"verdict":"VERIFIED"/)
    assert.match(stdout, /"status":"completed"/)
    assert.is(stdout.match(/^VERIFIED {2}/gm)?.length, 2, 'the store and the export verify')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

readme('the tour shows what it says: exit code 0', async () => {
  const { stdout } = await run(process.execPath, [join(BUILT, 'programs/countersign.js'), 'tour'])
  assert.match(stdout, /critical-key-removed at \/entities/)
  assert.match(stdout, /the card was charged once/)
  assert.match(stdout, /budget-exceeded/)
  assert.match(stdout, /the run is COMPENSATED/)
  assert.match(stdout, /VERIFIED: 20 events/)
  assert.match(stdout, /^TAMPERED {2}run-default\.tour @ 3/m)
})

readme.run()
