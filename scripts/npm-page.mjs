// Adapts the README for a package: npm's page has no access to files of the repository, so links and images must include the address of the commit.
import { readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)))
const LINK = /(!?)\[((?:[^[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g

/** `folder`: folder of the page in the repository; `home`: address of the repository on the web. Without `home`, links become plain text. */
export function linkedFor(text, { commit, folder, home }) {
  return text.replace(LINK, (whole, image, label, target) => {
    if (/^([a-z]+:|#)/.test(target)) return whole
    if (home === undefined) return image === '!' ? '' : label
    const [path, anchor] = target.split('#')
    const place = posix.join(folder, path)
    const url = image === '!' ? `${home}/raw/${commit}/${place}` : `${home}/blob/${commit}/${place}`
    return `${image}[${label}](${url}${anchor === undefined ? '' : `#${anchor}`})`
  })
}

/** `https://host/owner/name`; undefined if package.json names no repository. */
export function repositoryHome() {
  const { repository: named } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const url = typeof named === 'string' ? named : named?.url
  return url?.replace(/^git\+/, '').replace(/\.git$/, '')
}
