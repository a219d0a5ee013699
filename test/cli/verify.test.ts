import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { foundLedger, runInProcess } from '../support/in-process-command.ts'
import { startServer } from '../support/server-process.ts'
import { type SmallStore, smallStore } from '../support/small-store.ts'
import { setColumn, tamper } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const verify = suite<{ store: SmallStore }>('cli: verify and replay')
verify.before(async (context) => {
  context.store = await smallStore()
})
verify.after(({ store }) => store[Symbol.dispose]())

verify('a store may be named by folder, path or URL, or be the default; VERIFIED is exit code 0', async ({ store }) => {
  const cwd = store.folder.path
  for (const args of [[cwd], [store.path], [`sqlite:${store.path}`], ['--data', cwd], ['--store', store.path], ['.']]) {
    const { code, stdout, stderr } = await runInProcess(['verify', ...args], { cwd })
    assert.is(code, 0, `${args}: ${stdout}${stderr}`)
    assert.match(stdout, /^VERIFIED {2}\d+ events of 3 streams/)
    assert.is(stderr, '', 'no bar where stderr is no terminal')
  }
})

verify('TAMPERED is exit code 1, and the line names stream, revision and what is wrong (LOG-18)', async ({ store }) => {
  const cwd = store.folder.path
  const path = store.copy('tampered.db')
  setColumn(path, 4, 'data', '{"v":1}')
  const { code, stdout } = await runInProcess(['verify', path], { cwd })
  assert.is(code, 1)
  assert.match(stdout, /^TAMPERED {2}run-acme\.\w+ @ \d+, position 4 {2}data-digest {2}/)

  const json = await runInProcess(['verify', path, '--json'], { cwd })
  assert.is(json.code, 1)
  const report = JSON.parse(json.stdout)
  assert.is(report.verdict, 'TAMPERED')
  assert.is(report.faultsTotal, 1)
  assert.is(report.faults[0].code, 'data-digest')
  assert.is(report.faults[0].position, '4')
})

verify(
  'without keys links and digests are checked, and the verdict is UNVERIFIABLE, exit code 3 (LOG-18)',
  async ({ store }) => {
    using folder = tempFolder()
    const path = join(folder.path, 'alone.db')
    writeFileSync(path, readFileSync(store.path))
    const whole = await runInProcess(['verify', path], { cwd: folder.path })
    assert.is(whole.code, 3)
    assert.match(whole.stdout, /UNVERIFIABLE {2}no-keys/)
    assert.match(whole.stdout, /not checked: seals/)

    setColumn(path, 4, 'data', '{"v":1}')
    assert.is((await runInProcess(['verify', path], { cwd: folder.path })).code, 1)
  },
)

verify(
  'keys of another ledger make nothing TAMPERED: it is UNVERIFIABLE, in one line for all events',
  async ({ store }) => {
    using other = await smallStore()
    const { code, stdout } = await runInProcess(['verify', store.path, '--keys', other.keysPath], {
      cwd: store.folder.path,
    })
    assert.is(code, 3)
    assert.match(stdout, /foreign-keys/)
    assert.match(stdout, /not checked: whether events were cut off/)
    assert.ok(stdout.includes(`\nkeys: ${other.keysPath}\n`))
    assert.is(stdout.trimEnd().split('\n').length, 4)
  },
)

verify('a key file from before a rotation leaves later events UNVERIFIABLE, not TAMPERED', async () => {
  using folder = tempFolder()
  const cwd = folder.path
  await foundLedger(cwd)
  const before = readFileSync(folder.file('.countersign/keys.json'))
  await runInProcess(['keys', 'rotate'], { cwd })
  await foundLedger(cwd)
  const token = { format: 'openai', file: folder.file('t.jsonl') }
  writeFileSync(token.file, `${JSON.stringify({ id: 'x', messages: [{ role: 'user', content: 'hi' }] })}\n`)
  assert.is((await runInProcess(['import', token.file, '--format', 'openai'], { cwd })).code, 0)
  assert.is((await runInProcess(['verify'], { cwd })).code, 0)

  writeFileSync(folder.file('old.json'), before, { mode: 0o600 })
  const { code, stdout } = await runInProcess(['verify', '--keys', 'old.json'], { cwd })
  assert.is(code, 3, stdout)
  assert.match(stdout, /key-missing/)
  assert.not.match(stdout, /TAMPERED/)
})

verify('a store that its owner is writing to is verified beside it (STR-23)', async () => {
  using folder = tempFolder()
  await using _ = await startServer({ data: folder.file('.countersign') })
  const { code, stdout } = await runInProcess(['verify'], { cwd: folder.path })
  assert.is(code, 0, stdout)
})

verify('names in a file cannot steer the terminal (A45, LOG-17)', async ({ store }) => {
  const path = store.copy('escape.db')
  tamper(path, (db) =>
    db.prepare('UPDATE streams SET name = ? WHERE name = ?').run('run-\u001b[2J\nVERIFIED', 'run-acme.two'),
  )
  const { code, stdout } = await runInProcess(['verify', path], { cwd: store.folder.path })
  assert.is(code, 1)
  assert.not.ok(stdout.includes('\u001b'))
  assert.ok(stdout.split('\n').every((line) => !line.startsWith('VERIFIED')))
})

verify('replay tells a run step by step, and its verdict by exit code', async ({ store }) => {
  const cwd = store.folder.path
  const whole = await runInProcess(['replay', 'one', '--tenant', 'acme', '--data', cwd], { cwd })
  assert.is(whole.code, 0, whole.stderr)
  assert.match(whole.stdout, /snapshot match/)
  assert.match(whole.stdout, /VERIFIED {2}run-acme\.one/)

  const path = store.copy('replayed.db')
  setColumn(path, 4, 'data', '{"v":1}')
  const both = await Promise.all(
    ['one', 'two'].map((run) => runInProcess(['replay', run, '--tenant', 'acme', '--store', path, '--json'], { cwd })),
  )
  assert.equal(both.map(({ code }) => code).sort(), [0, 1])

  const unknown = await runInProcess(['replay', 'nobody', '--data', cwd], { cwd })
  assert.is(unknown.code, 3)
  rmSync(path)
})

verify.run()
