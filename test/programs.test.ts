import { readdirSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'

const test = suite('the programs of the package')

const DIST = fileURLToPath(new URL('..', import.meta.url))
const PROGRAMS = join(DIST, 'programs')
const THREADS = readdirSync(PROGRAMS).filter((file) => file.endsWith('-worker.js'))

function textsBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
}

test('every thread that a module starts has a program, and every program of a thread is started by a module', () => {
  const started = textsBelow(join(DIST, 'src')).flatMap((text) =>
    [...text.matchAll(/\/programs\/([\w-]+\.js)', import\.meta\.url/g)].map(([, name = '']) => name),
  )
  assert.equal([...new Set(started)].sort(), [...THREADS].sort())
  assert.is(THREADS.length, 5)
})

test('a thread is one file: beside it, it loads modules of node and the native driver alone', () => {
  for (const file of THREADS) {
    const text = readFileSync(join(PROGRAMS, file), 'utf8')
    const loaded = [...text.matchAll(/(?:^|[\s};])(?:from|import|import\() ?["']([^"'\n]+)["']/gm)].map(
      ([, name = '']) => name,
    )
    assert.ok(loaded.includes('better-sqlite3'), `${file}: the scan must see what is imported`)
    const others = loaded.filter((name) => !isBuiltin(name) && name !== 'better-sqlite3')
    assert.equal(others, [], file)
  }
})

test('the license of every package whose code is in them lies beside them', () => {
  const held = new Set(
    textsBelow(PROGRAMS).flatMap((text) =>
      [...text.matchAll(/^\/\/ (?:.*\/)?node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm)].map(([, name = '']) => name),
    ),
  )
  assert.ok(held.has('zod') && held.has('commander'), 'the scan must see what is bundled')
  const notices = readFileSync(join(PROGRAMS, 'THIRD-PARTY-LICENSES.txt'), 'utf8')
  const without = [...held].filter((name) => !notices.includes(`\n${name} `))
  assert.equal(without, [])
})

test.run()
