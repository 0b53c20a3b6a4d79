package main

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes a goroutine to the microsecond; the runtime's own timers wait for whole milliseconds.
type alarm struct {
	timer int
	file  *os.File
}

func newAlarm() (*alarm, error) {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &alarm{timer, os.NewFile(uintptr(timer), "timer")}, nil
}

func (a *alarm) sleepUntil(due time.Time) error {
	wait := time.Until(due)
	if wait <= 0 {
		return nil
	}
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(wait))}
	if err := unix.TimerfdSettime(a.timer, 0, &once, nil); err != nil {
		return err
	}
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	return err
}

func (a *alarm) close() { _ = a.file.Close() }
