import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { cleanEnv } from '../support/command-line.ts'
import { ROOT } from '../support/source-root.ts'
import { tempFolder } from '../support/temp-folder.ts'

const test = suite('a release')
const folder = tempFolder()
test.after(() => folder[Symbol.dispose]())

const sha256 = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

function run(command: string, args: readonly string[], cwd = ROOT): string {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', env: cleanEnv() })
  assert.is(status, 0, stdout + stderr)
  return stdout
}

interface Statement {
  readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[]
  readonly predicate: {
    readonly buildDefinition: {
      readonly externalParameters: { readonly commit: string }
      readonly internalParameters: {
        readonly packages: readonly {
          readonly name: string
          readonly treeDigest: string
          readonly files: Readonly<Record<string, string>>
        }[]
      }
    }
  }
}

test('packed again, a release has the same bytes; its provenance names the digest of every file that is in it (A148)', () => {
  for (const name of ['one', 'two'])
    run(process.execPath, [
      'scripts/release.mjs',
      folder.file(name),
      '--dirty',
      '--repository',
      'https://git.example/x/y',
    ])
  const [one, two] = ['one', 'two'].map((name) => readFileSync(join(folder.file(name), 'provenance.json'), 'utf8'))
  assert.is(one, two)
  const { subject, predicate } = JSON.parse(one ?? '') as Statement
  const { externalParameters, internalParameters } = predicate.buildDefinition
  assert.match(externalParameters.commit, /^[0-9a-f]{40}$/)
  assert.equal(
    subject.map(({ name }) => name.replace(/-\d.*/, '')),
    ['countersign', 'countersign-client'],
  )
  for (const { name, digest } of subject) {
    assert.is(sha256(readFileSync(join(folder.file('one'), name))), digest.sha256)
    const unpacked = folder.file(`unpacked-${name}`)
    mkdirSync(unpacked)
    run('tar', ['-xzf', join(folder.file('one'), name), '-C', unpacked])
    const packed = internalParameters.packages.find((each) => each.name === name)
    const there = readdirSync(unpacked, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(unpacked.length + 1))
    assert.equal(Object.keys(packed?.files ?? {}), [...there].sort())
    const lines = [...there].sort().map((file) => `${sha256(readFileSync(join(unpacked, file)))}  ${file}\n`)
    assert.equal(
      Object.entries(packed?.files ?? {}).map(([file, each]) => `${each}  ${file}\n`),
      lines,
    )
    assert.is(packed?.treeDigest, `sha256:${sha256(lines.join(''))}`)
    assert.not.match(readFileSync(join(unpacked, 'package/README.md'), 'utf8'), /\]\((?!https?:|#)/)
  }
})

test.run()
