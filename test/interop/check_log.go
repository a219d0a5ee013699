// Checks a tenant's log over HTTP with the packages that the Go checksum database is checked with (golang.org/x/mod/sumdb): the
// checkpoint's signature, every entry against the tiles and the root, every proof that the server gives. Prints what it checked.
//
// usage: go run check_log.go URL TOKEN
package main

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

var prefix, token string

func main() {
	prefix, token = os.Args[1]+"/v1/log", os.Args[2]
	tree := checkpoint()
	reader := tlog.TileHashReader(tree, tiles{})
	records := checkEntries(tree, reader)
	inclusion := checkInclusion(tree, records)
	consistency := checkConsistency(tree, reader)
	fmt.Printf("%d records, %d inclusion proofs, %d consistency proofs\n", len(records), inclusion, consistency)
}

func checkpoint() tlog.Tree {
	verifier, err := note.NewVerifier(strings.TrimSpace(string(get("/key"))))
	must(err)
	opened, err := note.Open(get("/checkpoint"), note.VerifierList(verifier))
	must(err)
	lines := strings.Split(opened.Text, "\n")
	if lines[0] != verifier.Name() {
		fail("the checkpoint is of %q, not of %q", lines[0], verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err)
	root, err := tlog.ParseHash(lines[2])
	must(err)
	return tlog.Tree{N: size, Hash: root}
}

// tiles reads them at their C2SP paths, which leave out the height that the checksum database names.
type tiles struct{}

func (tiles) Height() int { return 8 }

func (tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(wanted))
	for i, tile := range wanted {
		data[i] = get("/" + strings.Replace(tile.Path(), "tile/8/", "tile/", 1))
	}
	return data, nil
}

func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

// checkEntries reads the bundles and holds each entry against the leaf that the checked tiles have for it.
func checkEntries(tree tlog.Tree, reader tlog.HashReader) []tlog.Hash {
	var records []tlog.Hash
	for bundle := int64(0); bundle*256 < tree.N; bundle++ {
		width := tree.N - bundle*256
		if width > 256 {
			width = 256
		}
		path := tlog.Tile{H: 8, L: 0, N: bundle, W: int(width)}.Path()
		data := get("/" + strings.Replace(path, "tile/8/0/", "tile/entries/", 1))
		for len(data) > 0 {
			length := int(binary.BigEndian.Uint16(data))
			records = append(records, tlog.RecordHash(data[2:2+length]))
			data = data[2+length:]
		}
	}
	if int64(len(records)) != tree.N {
		fail("%d entries, and the checkpoint says %d", len(records), tree.N)
	}
	for i, record := range records {
		found, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, int64(i))})
		must(err)
		if found[0] != record {
			fail("entry %d is not the leaf", i)
		}
	}
	return records
}

func checkInclusion(tree tlog.Tree, records []tlog.Hash) int {
	for i, record := range records {
		var answer struct{ Proof []string }
		must(json.Unmarshal(get(fmt.Sprintf("/proof/inclusion?index=%d&size=%d", i, tree.N)), &answer))
		proof := tlog.RecordProof(hashes(answer.Proof))
		must(tlog.CheckRecord(proof, tree.N, tree.Hash, int64(i), record))
		if tlog.CheckRecord(proof, tree.N, tree.Hash, int64(i), tree.Hash) == nil {
			fail("the proof of %d proves another record", i)
		}
	}
	return len(records)
}

func checkConsistency(tree tlog.Tree, reader tlog.HashReader) int {
	count := 0
	for size := int64(1); size <= tree.N; size++ {
		var answer struct{ Proof []string }
		must(json.Unmarshal(get(fmt.Sprintf("/proof/consistency?from=%d&to=%d", size, tree.N)), &answer))
		older, err := tlog.TreeHash(size, reader)
		must(err)
		must(tlog.CheckTree(tlog.TreeProof(hashes(answer.Proof)), tree.N, tree.Hash, size, older))
		count++
	}
	return count
}

func hashes(texts []string) []tlog.Hash {
	var found []tlog.Hash
	for _, text := range texts {
		data, err := base64.StdEncoding.DecodeString(text)
		must(err)
		var hash tlog.Hash
		if copy(hash[:], data) != tlog.HashSize {
			fail("%q is no hash", text)
		}
		found = append(found, hash)
	}
	return found
}

func get(path string) []byte {
	request, err := http.NewRequest("GET", prefix+path, nil)
	must(err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := http.DefaultClient.Do(request)
	must(err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	must(err)
	if response.StatusCode != 200 {
		fail("%s: %s %s", path, response.Status, data)
	}
	return data
}

func must(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
