import { writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { runInProcess } from '../support/in-process-command.ts'
import { drive } from '../support/run-driver.ts'
import { servedLedger } from '../support/served-ledger.ts'
import { rowsOf, tamper } from '../support/tamper.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('cli: verify and keys list at --url')

test('verify --url says of a running log what it says of an export of it, under the reader\u2019s keys and a kept checkpoint (HTTP-102)', async () => {
  using folder = tempFolder()
  const data = folder.file('data')
  const note = folder.file('note')
  let verifierKey = ''
  {
    await using served = await servedLedger(data, 'acme')
    const run = drive(served.opened, 'r', { tenant: 'acme', actor: 'alice' })
    await run.start({})
    await run.hand('a', { n: 1 })
    await run.hand('a', { n: 2 })
    await served.opened.ledger.logs?.publish()
    const asked = (...args: readonly string[]) => runInProcess([...args, ...served.there], { cwd: folder.path })
    const keys = await asked('keys', 'list', '--json')
    assert.is(keys.code, 0, keys.stderr)
    const listed = JSON.parse(keys.stdout)
    verifierKey = listed.logKey
    assert.match(verifierKey, /\/acme\+/)
    const offline = await runInProcess(['keys', 'list', '--json', '--tenant', 'acme', '--data', data])
    assert.equal(listed.logKey, JSON.parse(offline.stdout).logKey)
    const seals = JSON.parse(offline.stdout).keys.filter(({ use }: { use: string }) => use === 'seal')
    assert.equal(
      listed.keys.map(({ kid }: { kid: string }) => kid),
      seals.map(({ kid }: { kid: string }) => kid),
    )
    assert.match((await asked('keys', 'list')).stdout, /seals events\nlog of acme: verifier key {2}\S+\n$/)

    writeFileSync(note, (await asked('checkpoint')).stdout)
    const whole = await asked('verify', '--json', '--key', verifierKey, '--checkpoint', note)
    const out = folder.file('whole.jsonl')
    await asked('export', '--out', out)
    const file = await runInProcess(['verify', out, '--json', '--key', verifierKey, '--checkpoint', note])
    const facts = ({ stdout }: { stdout: string }) => {
      const { source: _, elapsedMs: __, trailer: ___, ...said } = JSON.parse(stdout)
      return said
    }
    assert.equal([whole.code, facts(whole).verdict], [file.code, facts(file).verdict], whole.stderr)
    assert.ok(facts(whole).events >= 3, whole.stdout)
    assert.is((await asked('verify', out)).code, 2)
    const named = await runInProcess(['verify', served.url])
    assert.equal([named.code, named.stderr.includes('--url')], [2, true])
    assert.is((await asked('verify', '--tenant', 'acme')).code, 2)
  }
  assert.is((await runInProcess(['verify', '--url', 'http://127.0.0.1:1', '--token', 't'])).code, 4)
  const rows = rowsOf(`${data}/store.db`).filter(({ stream }) => stream === 'run-acme.r')
  tamper(`${data}/store.db`, (db) =>
    db.prepare(`UPDATE events SET data = replace(data, '"n":1', '"n":7') WHERE position = ?`).run(rows[1]?.position),
  )
  await using served = await servedLedger(data, 'acme')
  const altered = await runInProcess(['verify', '--key', verifierKey, ...served.there], { cwd: folder.path })
  assert.ok([1, 3].includes(altered.code), altered.stdout)
})

test.run()
