import { readFileSync, writeFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPostgresStore } from '../../src/store/postgres/postgres-store.ts'
import { openSqliteStore } from '../../src/store/sqlite/sqlite-store.ts'
import { countersign } from '../support/command-line.ts'
import { startNode } from '../support/eventstoredb-node.ts'
import { contents, onNode, recordsOf } from '../support/moved-ledger.ts'
import { newPostgresUrl } from '../support/postgres-store.ts'
import { smallStore } from '../support/small-store.ts'

const test = suite('countersign copy, around all stores')

test('from a file to PostgreSQL, on to EventStoreDB and back into a file: digest for digest, and what was signed before verifies against each (F133, STR-28)', async () => {
  using small = await smallStore()
  await using node = await startNode()
  const postgres = await newPostgresUrl()
  const keys = ['--keys', small.keysPath]
  const bundle = small.folder.file('before.tar')
  const issued = await countersign(['export', '--bundle', bundle, '--tenant', 'acme', '--data', small.folder.path])
  assert.is(issued.code, 0, issued.stderr)
  const { checkpoints } = JSON.parse(readFileSync(`${small.path}.checkpoints`, 'utf8'))
  const checkpoint = small.folder.file('checkpoint.txt')
  writeFileSync(checkpoint, checkpoints.acme)

  const back = small.folder.file('back.db')
  const places = [small.path, postgres, node.url, back]
  for (const [index, to] of places.slice(1).entries()) {
    const copied = await countersign(['copy', '--from', places[index] ?? '', '--to', to, ...keys])
    assert.is(copied.code, 0, copied.stderr)
  }
  const original = contents(await recordsOf(openSqliteStore({ path: small.path })))
  assert.ok(original.length > 10)
  for (const store of [openPostgresStore({ url: postgres }), onNode(node), openSqliteStore({ path: back })]) {
    assert.equal(contents(await recordsOf(store)), original)
  }
  for (const place of places) {
    const { code, stdout, stderr } = await countersign(['verify', place, ...keys, '--checkpoint', checkpoint])
    assert.is(code, 0, stdout + stderr)
    assert.match(stdout, /^VERIFIED/m)
  }
  const verified = await countersign(['verify', bundle, ...keys])
  assert.is(verified.code, 0, verified.stdout + verified.stderr)
})

test.run()
