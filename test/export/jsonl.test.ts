import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Json } from '../../schemas/json.ts'
import { exportDigest, exportLine, exportTrailer } from '../../src/export/jsonl.ts'
import { canonicalJson } from '../../src/signing/canonical-json.ts'

const test = suite('export: JSONL')

const texts = fc.record({
  header: fc
    .dictionary(fc.string(), fc.jsonValue())
    .map((value) => canonicalJson(JSON.parse(JSON.stringify(value)) as Json)),
  data: fc.jsonValue().map((value) => canonicalJson(JSON.parse(JSON.stringify(value)) as Json)),
  salt: fc.uint8Array({ minLength: 16, maxLength: 16 }).map((bytes) => Buffer.from(bytes).toString('base64url')),
})

test('a line is one line, and its parsed parts make the very same line again (A45)', () => {
  fc.assert(
    fc.property(texts, (given) => {
      const line = exportLine(given)
      assert.is(line.indexOf('\n'), line.length - 1)
      const { header, salt, data } = JSON.parse(line)
      assert.is(exportLine({ header: canonicalJson(header), salt, data: canonicalJson(data) }), line)
    }),
  )
})

test('the digest does not depend on how the bytes are portioned', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (portions) => {
      const digest = exportDigest()
      for (const portion of portions) digest.update(portion)
      assert.is(digest.text(), `sha256:${createHash('sha256').update(portions.join('')).digest('hex')}`)
    }),
  )
})

test('a trailer is one line with its members in one order', () => {
  const trailer = {
    root: 'sha256:1',
    treeSize: 7,
    asOf: null,
    digest: 'sha256:0',
    events: 0,
    run: null,
    tenant: 't',
    ledgerId: 'l',
    v: 1,
  } as const
  assert.is(
    exportTrailer(trailer),
    '{"trailer":{"v":1,"ledgerId":"l","tenant":"t","run":null,"events":0,"digest":"sha256:0","asOf":null,"treeSize":7,"root":"sha256:1"}}\n',
  )
})

test.run()
