import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EARLIER_VERIFIERS, ownDigest, VERIFIER_FILE } from '../../../src/verify/bundle/own-file.ts'
import { ROOT } from '../../support/source-root.ts'
import { tempFolder } from '../../support/temp-folder.ts'

const test = suite('export: the verifier, built as one file')

const BUILDER = join(ROOT, 'scripts/build-verifier.mjs')
const { verifierText } = (await import(pathToFileURL(BUILDER).href)) as { verifierText(program: string): string }
const BUILT = readFileSync(VERIFIER_FILE, 'utf8')
const PLACES = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'node'))
const OTHERS = ['node-20', 'node-22'].map((name) => join(ROOT, 'tools/other-nodes/node_modules', name, 'bin/node'))
const NODES = [process.execPath, ...PLACES, ...OTHERS].filter((file) => existsSync(file))

function majorOf(node: string): number {
  return Number(spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout.slice(1).split('.')[0])
}

test('it has the digest that is published last, and those before it are the earlier ones that verify (LOG-16)', () => {
  const published = readFileSync(join(ROOT, 'docs/spec/verifier-digests.txt'), 'utf8').trimEnd().split('\n')
  assert.ok(published.every((line) => /^[0-9a-f]{64} {2}\S.*$/.test(line)))
  const digests = published.map((line) => line.slice(0, 64))
  const digest = createHash('sha256').update(BUILT).digest('hex')
  const todo = `The sources of the verifier make another file than the one that is published. Run "npm run build"; if the change is meant, append "${digest}  ${new Date().toISOString().slice(0, 10)}" to docs/spec/verifier-digests.txt, and put the digest before it into EARLIER_VERIFIERS (src/verify/bundle/own-file.ts) if a release made bundles with it.`
  assert.is(digests.at(-1), digest, todo)
  assert.is(ownDigest(), digest)
  assert.equal(
    EARLIER_VERIFIERS.filter((each) => !digests.slice(0, -1).includes(each)),
    [],
  )
})

test('every Node that can build it makes the same bytes', () => {
  const able = NODES.filter((node) => majorOf(node) >= 22)
  for (const node of able) {
    const { status, stdout, stderr } = spawnSync(node, [BUILDER], { encoding: 'utf8', maxBuffer: 2 ** 24 })
    assert.equal([status, stderr], [0, ''], node)
    assert.ok(stdout === BUILT, `${node} builds other bytes`)
  }
  assert.ok(able.length > 0)
})

test('it is one file to read: what it is comes first, comments are those of what follows, and it is of bounded length', () => {
  assert.match(
    BUILT,
    /^#!\/usr\/bin\/env node\n\/\*\*\n \* Checks an evidence bundle of a Countersign ledger:\n \* {3}node verify\.mjs /,
  )
  assert.not.match(BUILT, /\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n\n/)
  assert.ok(BUILT.split('\n').length <= 3330)
  const imports = [...BUILT.matchAll(/^import .* from '(.*)'$/gm)].map((match) => match[1] ?? '')
  assert.equal(imports, ['node:crypto', 'node:fs', 'node:path', 'node:url', 'node:util'])
  assert.not.match(BUILT, /^export |\bimport\(/m)
})

test('every Node at hand runs it without a flag', () => {
  for (const node of NODES) {
    const { status, stderr } = spawnSync(node, [VERIFIER_FILE.pathname], { encoding: 'utf8' })
    assert.is(status, 2, `${node}: ${stderr}`)
    assert.match(stderr, /^name one bundle\nusage: node verify\.mjs /)
  }
})

/** What the builder says to a program of two modules. */
function faultOf(program: string, other: string): string {
  using folder = tempFolder()
  writeFileSync(folder.file('other.ts'), other)
  writeFileSync(folder.file('program.ts'), `#!/usr/bin/env node\n/** What it is. */\n${program}`)
  try {
    return verifierText(folder.file('program.ts'))
  } catch (error) {
    return (error as Error).message
  }
}

test('modules that cannot be joined as they are end the build, which names the places', () => {
  const use = "import { one } from './other.ts'\n\nconsole.log(one)\n"
  const one = 'export const one = 1\n'
  const twice = faultOf(`${use}\nconst two = one\nconsole.log(two)\n`, `${one}\nfunction two() {}\n`)
  assert.match(twice, /two is declared in \S*other\.ts and in \S*program\.ts: rename one of them/)
  const node = faultOf(use, `import { join } from 'node:path'\n\n${one}\nconst join = 1\n`)
  assert.match(node, /join is declared in an import from Node and in \S*other\.ts/)
  assert.match(
    faultOf(use, `import { z } from 'zod'\n\n${one}`),
    /other\.ts imports zod: the verifier needs nothing but Node/,
  )
  assert.match(
    faultOf(use.replace('{ one }', '{ one as two }'), one),
    /program\.ts: import \{ one as two \}.*names stay as they are/,
  )
  assert.match(faultOf(use, `${one}\nexport default one\n`), /other\.ts: export default one: a form that/)
})

test('types go with their comments, and of a module only what is used is taken', () => {
  const other = `/** Gone. */\nexport type Gone = number\n\n/** Kept. */\nexport const one = (value: Gone): Gone => value\n\n/** Not used. */\nexport function idle() {}\n`
  const text = faultOf("import { type Gone, one } from './other.ts'\n\nconsole.log(one(1 satisfies Gone))\n", other)
  assert.match(text, /\/\*\* Kept\. \*\/\nconst one = \(value\) => value\n/)
  assert.not.match(text, /Gone|Not used|idle/)
})

test.run()
