import { readFileSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { BundleVerdict } from '../../../src/verify/bundle/verdict.ts'
import { verifyBundle } from '../../../src/verify/bundle/verify-bundle.ts'
import { unpackTar, writeBundle } from '../../support/bundles.ts'
import { type Files, packedBundle } from '../../support/forgery.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { testLogs } from '../../support/test-logs.ts'

interface Context {
  tar: Buffer
  files: Files
  key: string
  /** Where each header begins. */
  headers: readonly number[]
}

const test = suite<Context>('export: the archive of a bundle')
const BLOCK = 512

test.before(async (context) => {
  using folder = tempFolder()
  await using home = await testLogs()
  await home.fill('acme', 'one', 2)
  await writeBundle(home.ledger, folder.file('b.tar'), { query: { run: 'one' } })
  context.tar = readFileSync(folder.file('b.tar'))
  context.files = await unpackTar(context.tar)
  context.key = home.logs.verifierKey('acme')
  let at = 0
  context.headers = [...context.files.values()].map(({ length }) => {
    const start = at
    at += BLOCK + Math.ceil(length / BLOCK) * BLOCK
    return start
  })
})

/** With the checksum that fits, as whoever alters a header would write it. */
function summed(tar: Buffer, at: number): Buffer {
  tar.fill(' ', at + 148, at + 156)
  const sum = tar.subarray(at, at + BLOCK).reduce((all, byte) => all + byte, 0)
  tar.write(`${sum.toString(8).padStart(6, '0')} \0`, at + 148, 'latin1')
  return tar
}

function edited({ tar, headers }: Context, offset: number, bytes: string, entry = 2): Buffer {
  const copy = Buffer.from(tar)
  const at = headers[entry] ?? 0
  copy.write(bytes, at + offset, 'latin1')
  return summed(copy, at)
}

function mustFail({ key }: Context, tar: Buffer, what: string): BundleVerdict {
  const found = verifyBundle(tar, { key })
  assert.ok(found.verdict === 'TAMPERED' || found.verdict === 'INCOMPLETE', `${what}: ${found.verdict}`)
  return found
}

test('no byte of a header can be another one, its checksum made to fit (A75)', (context) => {
  for (const entry of [0, 2, context.headers.length - 1]) {
    for (let offset = 0; offset < BLOCK; offset += 1) {
      const at = (context.headers[entry] ?? 0) + offset
      const tar = Buffer.from(context.tar)
      tar[at] = (tar[at] ?? 0) ^ 1
      mustFail(
        context,
        offset >= 148 && offset < 156 ? tar : summed(tar, at - offset),
        `byte ${offset} of header ${entry}`,
      )
    }
  }
})

test('each field that another program might read otherwise is named: tails, prefix, links, mode, owner, time, devices, padding (A75)', (context) => {
  for (const [offset, bytes, field] of [
    [30, 'tail', 'name'],
    [100, '000777 ', 'mode'],
    [108, '000001 ', 'owner'],
    [136, '00000000001', 'time'],
    [156, '2', 'type'],
    [157, '/etc/passwd', 'link name'],
    [257, 'ustar  ', 'format'],
    [265, 'root', 'owner name'],
    [297, 'root', 'group name'],
    [329, '000001 ', 'device'],
    [345, '../..', 'name prefix'],
    [500, 'x', 'padding'],
  ] as const) {
    const { faults } = mustFail(context, edited(context, offset, bytes), field)
    assert.match(faults[0]?.message ?? '', new RegExp(`the ${field} in the header`))
  }
})

test('extensions, doubles, other orders, and anything between or behind the files are refused (A75)', async (context) => {
  const { tar, headers, files } = context
  const second = headers[1] ?? 0
  const at = (place: number, ...parts: readonly Buffer[]): Buffer =>
    Buffer.concat([tar.subarray(0, place), ...parts, tar.subarray(place)])
  const header = (type: string, name: string): Buffer => {
    const block = Buffer.from(tar.subarray(0, BLOCK))
    block.fill(0, 0, 100).write(name, 'latin1')
    block.write('00000000000 ', 124, 'latin1')
    block.write(type, 156, 'latin1')
    return summed(block, 0)
  }
  for (const [type, name] of [
    ['x', 'PaxHeader'],
    ['g', 'pax_global_header'],
    ['L', '././@LongLink'],
    ['K', '././@LongLink'],
    ['5', 'proofs/'],
    ['0', 'manifest.json'],
    ['x', 'checkpoint'],
  ] as const)
    mustFail(context, at(second, header(type, name)), type)
  const first = tar.subarray(0, second)
  mustFail(context, at(second, Buffer.from(first)), 'a file twice')
  mustFail(context, at(second, Buffer.alloc(BLOCK)), 'an empty block between')
  mustFail(context, Buffer.concat([tar, Buffer.alloc(BLOCK)]), 'a third empty block')
  mustFail(context, Buffer.concat([tar, Buffer.from('x')]), 'a byte behind the end')
  mustFail(context, tar.subarray(0, -BLOCK), 'one empty block')
  mustFail(context, tar.subarray(0, -2 * BLOCK), 'no end')
  const last = headers.at(-1) ?? 0
  const swapped = Buffer.concat([tar.subarray(second, last), first, tar.subarray(last)])
  assert.match(mustFail(context, swapped, 'another order').faults[0]?.message ?? '', /out of order/)
  const padded = Buffer.from(tar)
  const size = files.get([...files.keys()][0] ?? '')?.length ?? 0
  padded[BLOCK + size] = 1
  assert.match(mustFail(context, padded, 'padding').faults[0]?.message ?? '', /behind the end of/)
  assert.is(verifyBundle(await packedBundle(files), { key: context.key }).verdict, 'VERIFIED')
})

test.run()
