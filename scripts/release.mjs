// Packs both packages and describes their content: writes the tarballs, SHA256SUMS and provenance.json (an in-toto statement with a SLSA provenance
// predicate) to dist/release, or to the folder given as an argument. The same commit yields the same bytes: the script packs twice and compares. It signs
// nothing: the publisher signs provenance.json, or publishes from a system where npm signs. Run after a build, on a clean tree.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { gunzipSync } from 'node:zlib'
import { linkedFor, repositoryHome } from './npm-page.mjs'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const BLOCK_BYTES = 512

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { dirty: { type: 'boolean', default: false }, repository: { type: 'string' } },
})
release(resolve(positionals[0] ?? join(ROOT, 'dist', 'release')))

/** `--repository URL`: target of the links on npm's page, unless package.json names it. `--dirty`: a rehearsal on a tree that differs from its commit. */
function release(out) {
  const commit = git('rev-parse', 'HEAD')
  if (git('status', '--porcelain', '--untracked-files=no') !== '' && !values.dirty)
    fail('the tree differs from its commit: commit first, or say --dirty for a rehearsal')
  const [first, second] = [packed(commit), packed(commit)]
  for (const [file, bytes] of first)
    if (sha256(bytes) !== sha256(second.get(file) ?? '')) fail(`${file} was packed twice and differs`)
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  for (const [file, bytes] of first) writeFileSync(join(out, file), bytes)
  writeFileSync(join(out, 'SHA256SUMS'), [...first].map(([file, bytes]) => `${sha256(bytes)}  ${file}\n`).join(''))
  writeFileSync(join(out, 'provenance.json'), `${JSON.stringify(statementOf(first, commit), null, 2)}\n`)
  for (const [file, bytes] of first) console.log(`${sha256(bytes)}  ${file}  ${bytes.length} bytes`)
  console.log(`${out}/provenance.json`)
}

/** Tarballs of both packages by file name, packed in a temporary folder. */
function packed(commit) {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-release-'))
  try {
    run(process.execPath, [join(ROOT, 'scripts', 'build-client-package.mjs'), join(folder, 'client')])
    const [{ files }] = JSON.parse(run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts', '--silent']))
    for (const { path } of files) cpSync(join(ROOT, path), join(folder, 'whole', path))
    for (const place of ['client', 'whole']) {
      const page = join(folder, place, 'README.md')
      const links = {
        commit,
        folder: place === 'client' ? 'docs' : '',
        home: values.repository ?? repositoryHome(),
      }
      writeFileSync(page, linkedFor(readFileSync(page, 'utf8'), links))
      run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], join(folder, place))
    }
    const tarballs = readdirSync(folder).filter((file) => file.endsWith('.tgz'))
    return new Map(tarballs.sort().map((file) => [file, readFileSync(join(folder, file))]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** https://in-toto.io/Statement/v1 with https://slsa.dev/provenance/v1. */
function statementOf(tarballs, commit) {
  const lock = readFileSync(join(ROOT, 'package-lock.json'))
  const version = (name) => JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version
  return {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...tarballs].map(([name, bytes]) => ({ name, digest: { sha256: sha256(bytes) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'urn:countersign:build:npm-pack:v1',
        externalParameters: { commit, command: 'node scripts/release.mjs' },
        internalParameters: {
          packages: [...tarballs].map(([name, bytes]) => {
            const files = filesIn(bytes)
            return { name, treeDigest: `sha256:${treeDigest(files)}`, files: Object.fromEntries(files) }
          }),
        },
        resolvedDependencies: [
          { name: 'source', digest: { gitCommit: commit } },
          { name: 'package-lock.json', digest: { sha256: sha256(lock) } },
        ],
      },
      runDetails: {
        builder: {
          id: 'urn:countersign:scripts/release.mjs',
          version: {
            node: process.version,
            npm: run('npm', ['--version']).trim(),
            typescript: version('typescript'),
            esbuild: version('esbuild'),
          },
        },
      },
    },
  }
}

/** Path and SHA-256 of each file of a tarball, sorted by path. */
function filesIn(tarball) {
  const tar = gunzipSync(tarball)
  const files = []
  for (let at = 0; at < tar.length && tar[at] !== 0; ) {
    const text = (from, length) => tar.toString('utf8', at + from, at + from + length).replace(/\0[\s\S]*$/, '')
    const bytes = Number.parseInt(text(124, 12), 8)
    const prefix = text(345, 155)
    const body = tar.subarray(at + BLOCK_BYTES, at + BLOCK_BYTES + bytes)
    if (text(156, 1) === '0' || text(156, 1) === '')
      files.push([`${prefix === '' ? '' : `${prefix}/`}${text(0, 100)}`, sha256(body)])
    at += BLOCK_BYTES + Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES
  }
  return files.sort(([a], [b]) => (a < b ? -1 : 1))
}

/** Digest over the lines that `sha256sum` prints for the unpacked files, so that it can be computed without this script. */
function treeDigest(files) {
  return sha256(files.map(([path, digest]) => `${digest}  ${path}\n`).join(''))
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}

function git(...args) {
  return run('git', args).trim()
}

function run(command, args, cwd = ROOT) {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (status !== 0) fail(`${command} ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

function fail(message) {
  console.error(`release: ${message}`)
  process.exit(1)
}
