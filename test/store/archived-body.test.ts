import { mkdirSync, writeFileSync } from 'node:fs'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { recordText } from '../../src/export/jsonl.ts'
import { archiveMissing, requireBodies } from '../../src/store/archive-missing-error.ts'
import { bodyInLine, placeIn, placeText } from '../../src/store/archived-body.ts'
import { ArchiveReader, archivesOf } from '../../src/store/sqlite/archive-reader.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('bodies in archives')

const NO_SALT = new Uint8Array()
const salt = Buffer.from('0123456789abcdef')
const header = '{"actor":"a","id":"1"}'

test('a row says where its body is, and says nothing else (LIFE-50)', () => {
  const names = fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,60}$/)
  const numbers = fc.nat()
  fc.assert(
    fc.property(names, numbers, numbers, (archive, offset, bytes) => {
      const place = { archive, offset, bytes: bytes % 1_000_000_000 }
      assert.equal(placeIn(placeText(place)), place)
    }),
  )
})

for (const forged of [
  'archived:../keys:0:10',
  'archived:/etc/passwd:0:10',
  'archived:acme-000001.jsonl:0:10',
  'archived:acme-000001:-1:10',
  'archived:acme-000001:1e3:10',
  'archived:acme-000001:0:10 ',
  'archived:acme-000001:0:99999999999',
  'archived:ACME-000001:0:10',
  '{"archived":"acme-000001"}',
  '',
]) {
  test(`${JSON.stringify(forged)} names no archive, and no file is read for it (A471)`, () => {
    assert.is(placeIn(forged), undefined)
    using folder = tempFolder()
    using reader = new ArchiveReader(folder.file('store.db'))
    assert.equal(reader.bodyOf(header, NO_SALT, forged), { salt: NO_SALT, data: forged })
  })
}

test('a body is found in the line of its own event alone, whatever the line says (LIFE-50)', () => {
  const text = (data: string, of = header) => recordText({ header: of, salt: salt.toString('base64url'), data })
  fc.assert(
    fc.property(fc.json(), (data) => {
      const found = bodyInLine(text(data), header)
      assert.equal([found && Buffer.from(found.salt), found?.data], [salt, data])
    }),
  )
  assert.is(bodyInLine(text('{}', '{"actor":"b","id":"1"}'), header), undefined)
  // Of a line that was cut the digest in the header refuses what is left.
  assert.is.not(bodyInLine(text('{}').slice(0, -1), header)?.data, '{}')
  assert.is(bodyInLine(text('{}').slice(1), header), undefined)
  assert.is(bodyInLine('', header), undefined)
})

test('a file that is away is looked for again at each read, and no read takes its body for absent (LIFE-56)', () => {
  using folder = tempFolder()
  const path = folder.file('store.db')
  using reader = new ArchiveReader(path)
  const line = recordText({ header, salt: salt.toString('base64url'), data: '{"v":1}' })
  const row = placeText({ archive: 'acme-000001', offset: 3, bytes: Buffer.byteLength(line) })
  const away = reader.bodyOf(header, NO_SALT, row)
  assert.equal([away.data, away.archive], ['', { name: 'acme-000001', exists: false }])
  assert.throws(() => requireBodies([{ header, ...away }]), /acme-000001\.jsonl is not in the folder/)
  assert.instance(archiveMissing({ name: 'x' }), Error)

  mkdirSync(archivesOf(path))
  writeFileSync(`${archivesOf(path)}/acme-000001.jsonl`, `{}\n${line}\n`)
  const there = reader.bodyOf(header, NO_SALT, row)
  assert.equal([there.data, Buffer.from(there.salt)], ['{"v":1}', salt])
  requireBodies([{ header, ...there }])
  const elsewhere = placeText({ archive: 'acme-000001', offset: 4, bytes: Buffer.byteLength(line) })
  const wrong = reader.bodyOf(header, NO_SALT, elsewhere)
  assert.equal(
    [wrong.data, wrong.archive],
    ['', { name: 'acme-000001', exists: true }],
    'a line that is another is damage',
  )
  assert.equal(reader.bodyOf(header, salt, row).data, row, 'a row with a salt has its own body')
})

test.run()
