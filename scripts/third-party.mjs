// The licenses of packages whose code is in a bundle, as one text.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const LICENSE = /^(licen[cs]e|copying|notice)([.-].*)?$/i

/** `files`: paths of the bundled files from the repository root. Fails for a package without a license. */
export function noticesOf(files) {
  const folders = new Set(files.flatMap((file) => packageFolder(file) ?? []))
  const notices = [...folders].map(noticeOf)
  return `The programs in this folder hold code of these packages.\n\n${[...new Set(notices)].sort().join('\n')}`
}

/** The folder of the innermost package. */
function packageFolder(file) {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0]
}

function noticeOf(folder) {
  const path = resolve(ROOT, folder)
  const { name, version, license, author } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'))
  const texts = textsOf(path)
  if (typeof license !== 'string' && texts.length === 0) throw new Error(`${folder} names no license`)
  const by = typeof author === 'string' ? author : author?.name
  const head = [`${name} ${version}`, license, texts.length === 0 ? by : undefined].filter((part) => part !== undefined)
  return `${'='.repeat(80)}\n${head.join(', ')}\n\n${texts.join('\n\n')}\n`
}

/** The package's license files, or otherwise the license section of its README. */
function textsOf(path) {
  const read = (file) => readFileSync(join(path, file), 'utf8').replaceAll('\r\n', '\n')
  const files = readdirSync(path).sort()
  const own = files.filter((file) => LICENSE.test(file))
  if (own.length > 0) return own.map((file) => read(file).trim())
  const page = files.find((file) => /^readme/i.test(file))
  const section = page === undefined ? undefined : /^#+ *licen[cs]e\b[\s\S]*/im.exec(read(page))?.[0]
  return section === undefined ? [] : [section.trim()]
}
