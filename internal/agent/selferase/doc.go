// Package selferase has a disk erase itself: by the format or sanitize command of NVMe, or by the secure erase of ATA. A disk reaches with
// these commands what no write reaches, as the blocks that it has set aside for worn ones.
//
// What a disk is able to do is read first, and what it did is read afterwards. A disk that can't erase itself although it has the command is
// Impossible, with the reason for people; one that has no such command is ErrNoCommand.
package selferase
